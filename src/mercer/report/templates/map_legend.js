// The legend, and the field that finds rows: both choose what stays bright on the map.
const Legend = (data, changed) => {
  const box = document.getElementById("legend"), field = document.getElementById("find"), found = document.getElementById("found");
  const MOST_OTHERS = 200, n = data.rows.length;
  let column = null, only = null, matches = null;

  const searched = () => field.value.trim().toLowerCase();
  const search = () => {
    const words = searched();
    matches = null; found.textContent = "";
    if (words) {
      matches = new Uint8Array(n);
      for (const col of data.columns) {
        if (col.kind === "category") {
          const hits = col.categories.map((name) => name.toLowerCase().includes(words));
          for (let i = 0; i < n; i++) if (col.values[i] !== null && hits[col.values[i]]) matches[i] = 1;
        } else if (col.kind === "text") for (let i = 0; i < n; i++) if (col.values[i] && col.values[i].toLowerCase().includes(words)) matches[i] = 1;
      }
      data.rows.forEach((row, i) => { if (String(row + 1) === words) matches[i] = 1; });
      const count = matches.reduce((sum, one) => sum + one, 0);
      found.textContent = `${count} of ${n} rows`;
    }
    show(); changed();
  };

  const entry = (sign, words, value) => {
    const item = document.createElement("button"), text = document.createElement("span");
    text.textContent = words;
    item.type = "button";
    item.append(sign, text);
    item.setAttribute("aria-pressed", only === value);
    item.addEventListener("click", () => { only = only === value ? null : value; show(); changed(); });
    box.append(item);
  };
  const remark = (words) => {
    const text = document.createElement("p");
    text.className = "note"; text.textContent = words;
    box.append(text);
  };
  const showCategories = () => {
    const words = searched(), { categories, counts, coloured } = column;
    const codes = categories.map((_, code) => code).filter((code) => categories[code].toLowerCase().includes(words));
    const named = codes.length ? codes : categories.map((_, code) => code), others = named.filter((code) => code >= coloured);
    for (const code of named) if (code < coloured) entry(Marks.swatch(column, code), `${categories[code]} (${counts[code]})`, code);
    if (!others.length) return;
    const rows = others.reduce((sum, code) => sum + counts[code], 0);
    entry(Marks.swatch(column, coloured), `other: ${others.length} values (${rows})`, "other");
    for (const code of others.slice(0, MOST_OTHERS)) entry(Marks.swatch(column, code), `${categories[code]} (${counts[code]})`, code);
    if (others.length > MOST_OTHERS) remark(`and ${others.length - MOST_OTHERS} more: find them by name`);
  };
  const showRamp = () => {
    const scale = document.createElement("div"), bar = document.createElement("div"), ends = document.createElement("div");
    scale.className = "scale"; bar.className = "bar"; ends.className = "ends";
    bar.style.background = Marks.ramp();
    const [low, high] = column.range;
    for (const [place, t] of [[2, 1], [1, 0.5], [0, 0]]) {
      const label = document.createElement("span");
      label.textContent = column.ends ? column.ends[place] : String(Number((low + t * (high - low)).toPrecision(4)));
      ends.append(label);
    }
    scale.append(bar, ends); box.append(scale);
  };
  const show = () => {
    box.replaceChildren();
    if (!column) return;
    if (column.kind === "category") showCategories(); else showRamp();
    if (column.values.includes(null)) remark("Empty rings: the entry is missing.");
  };
  field.addEventListener("input", search);

  const hidden = (i) => {
    if (matches && !matches[i]) return true;
    if (only === null) return false;
    return only === "other" ? column.values[i] === null || column.values[i] < column.coloured : column.values[i] !== only;
  };
  const colourBy = (chosen) => { column = chosen; only = null; show(); };
  return { show, colourBy, hidden };
};
