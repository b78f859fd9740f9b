// The map: where rows are drawn, and what pointers and keys do.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [canvas, tip, colour, across, up, which, drawn] = ["map", "tip", "colour", "across", "up", "which", "drawn"].map((id) => document.getElementById(id));
  const pen = canvas.getContext("2d");
  const n = data.rows.length, REACH = 12, MARGIN = 34;
  // Pictures are the first view where they have room: on a screen that is no phone, and if not too many would be left out.
  const ROOM = 480, MOST_PICTURES = 5000, SIDE = 30, LARGEST_SIDE = 110;
  const pictures = data.images ? Pictures(data.images, n) : null;
  let shown = data.maps[0], view = null, hovered = -1, size = [0, 0], boxes = [];

  const { css, trace } = Marks;
  const legend = Legend(data, () => draw());
  const column = () => data.columns[Number(colour.value)] || null;
  const axis = (select) => Number(select.value);

  const extent = (c) => {
    let low = Infinity, high = -Infinity;
    for (const point of shown.points) if (point[c] !== null) { low = Math.min(low, point[c]); high = Math.max(high, point[c]); }
    return low < high ? [low, high] : [low - 0.5, low + 0.5];
  };
  const reset = () => {
    const [x0, x1] = extent(axis(across)), [y0, y1] = extent(axis(up)), [w, h] = size;
    let sx = (w - 2 * MARGIN) / (x1 - x0), sy = (h - 2 * MARGIN) / (y1 - y0);
    // One scale for both axes, unless the vertical one is a distance and no coordinate.
    if (shown.axes[axis(up)].coordinate && shown.axes[axis(across)].coordinate) sx = sy = Math.min(sx, sy);
    view = { sx, sy, x: w / 2 - sx * (x0 + x1) / 2, y: h / 2 + sy * (y0 + y1) / 2, zoom: 1 };
    draw();
  };
  const place = (i) => [view.x + view.sx * shown.points[i][axis(across)], view.y - view.sy * shown.points[i][axis(up)]];
  const isThere = (i) => !shown.points[i].includes(null);

  // Drawing ------------------------------------------------------------------------------------------------------------

  const draw = () => {
    const ratio = window.devicePixelRatio || 1, [w, h] = size;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    grid(w, h);
    const style = Marks.styleOf(column()), withPictures = pictures && drawn.value === "pictures";
    const r = Math.max(2.4, Math.min(5.5, 150 / Math.sqrt(n))) * Math.min(1.6, Math.sqrt(view.zoom));
    drawPoints(style, withPictures ? 0.6 * r : r, w, h);
    boxes = withPictures ? drawPictures(style) : [];
    if (hovered >= 0 && !boxes.some((box) => box.row === hovered)) {
      trace(0, ...place(hovered), r + 4, pen); pen.strokeStyle = css("--ink"); pen.lineWidth = 2; pen.stroke();
    }
    canvas.dataset.zoom = view.zoom.toFixed(3);
    canvas.dataset.hovered = hovered;
    canvas.pictures = boxes;
  };
  const drawPoints = (style, r, w, h) => {
    const edge = css("--paper"), muted = css("--muted");
    // What is grey, empty or faded lies below.
    const below = [], above = [];
    for (let i = 0; i < n; i++) {
      if (!isThere(i)) continue;
      const [x, y] = place(i);
      if (x < -9 || y < -9 || x > w + 9 || y > h + 9) continue;
      const [fill, shape] = style(i), faded = legend.hidden(i);
      (faded || fill === null || fill === muted ? below : above).push([x, y, fill, shape, faded]);
    }
    for (const [x, y, fill, shape, faded] of [...below, ...above]) {
      pen.globalAlpha = faded ? 0.08 : 0.88;
      trace(shape, x, y, r, pen);
      if (fill === null) { pen.strokeStyle = muted; pen.lineWidth = 1; pen.stroke(); continue; }
      pen.fillStyle = fill; pen.fill();
      pen.strokeStyle = edge; pen.lineWidth = 0.6; pen.stroke();
    }
    pen.globalAlpha = 1;
  };
  const drawPictures = (style) => {
    const side = Math.min(LARGEST_SIDE, SIDE * Math.max(1, Math.sqrt(view.zoom)));
    const found = pictures.layout(place, (i) => isThere(i) && !legend.hidden(i), side, size);
    return found.map(({ row, x, y }) => {
      const [left, top, w, h] = pictures.paint(pen, row, x, y, side), [fill] = style(row);
      pen.strokeStyle = row === hovered ? css("--ink") : fill || css("--muted"); pen.lineWidth = row === hovered ? 3 : 2;
      pen.strokeRect(left - 1, top - 1, w + 2, h + 2);
      return { row, left, top, width: w, height: h };
    });
  };

  const ticks = (low, high) => {
    const raw = (high - low) / 6, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((s) => s * power >= raw) * power;
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(6)));
    return found;
  };
  const grid = (w, h) => {
    pen.font = "11px system-ui, sans-serif"; pen.fillStyle = css("--muted"); pen.strokeStyle = css("--line"); pen.lineWidth = 0.6;
    pen.textAlign = "center";
    for (const v of ticks(-view.x / view.sx, (w - view.x) / view.sx)) {
      const x = view.x + view.sx * v; pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, h); pen.stroke(); pen.fillText(v, x, h - 18);
    }
    pen.textAlign = "left";
    for (const v of ticks((view.y - h) / view.sy, view.y / view.sy)) {
      const y = view.y - view.sy * v; pen.beginPath(); pen.moveTo(0, y); pen.lineTo(w, y); pen.stroke(); pen.fillText(v, 4, y - 3);
    }
    pen.fillStyle = css("--ink"); pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center";
    pen.fillText(shown.axes[axis(across)].name, w / 2, h - 4);
    pen.save(); pen.translate(w - 6, h / 2); pen.rotate(-Math.PI / 2); pen.fillText(shown.axes[axis(up)].name, 0, 0); pen.restore();
  };

  // The row under the pointer --------------------------------------------------------------------------------------------

  const words = (col, i) => {
    const value = col.values[i];
    if (value === null || value === undefined) return "missing";
    if (col.texts) return col.texts[i];
    if (col.kind === "category") return col.categories[value];
    return typeof value === "number" ? String(Number(value.toPrecision(5))) : value;
  };
  const cell = (row, text) => { row.insertCell().textContent = text; };
  const showTip = (i, x, y) => {
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren();
    const title = document.createElement("strong"), table = document.createElement("table"), [w, h] = size;
    title.textContent = `Row ${data.rows[i] + 1}`;
    // As many columns as the map is high enough for; the last one is the distance from the map.
    const most = Math.max(3, Math.min(22, Math.floor((h - (pictures ? 200 : 100)) / 20))), listed = Math.min(data.n_table_columns, most);
    for (const col of [...data.columns.slice(0, listed), data.columns[data.columns.length - 1]]) {
      const row = table.insertRow(); cell(row, col.name); cell(row, words(col, i));
    }
    tip.append(title, table);
    const more = data.n_table_columns - listed + data.n_left_out;
    if (more) {
      const rest = document.createElement("p");
      rest.textContent = `and ${more} more column${more > 1 ? "s" : ""}`;
      tip.append(rest);
    }
    if (pictures) tip.append(pictures.single(i));
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 16, w - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 16, h - box.height - 4))}px`;
  };
  const nearest = (x, y) => {
    const box = boxes.find((b) => x >= b.left && y >= b.top && x <= b.left + b.width && y <= b.top + b.height);
    if (box) return box.row;
    let best = -1, least = REACH ** 2;
    for (let i = 0; i < n; i++) {
      if (!isThere(i) || legend.hidden(i)) continue;
      const [a, b] = place(i), d = (a - x) ** 2 + (b - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  };

  // Pointers, keys and menus ----------------------------------------------------------------------------------------------

  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const zoomAt = (factor, x, y) => {
    factor = Math.min(200 / view.zoom, Math.max(0.5 / view.zoom, factor));
    view.x = x - factor * (x - view.x); view.y = y - factor * (y - view.y);
    view.sx *= factor; view.sy *= factor; view.zoom *= factor;
    draw();
  };
  let drag = null;
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoomAt(Math.exp(-event.deltaY / 400), ...at(event)); }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { drag = at(event); canvas.setPointerCapture(event.pointerId); canvas.classList.add("moving"); });
  canvas.addEventListener("pointerup", () => { drag = null; canvas.classList.remove("moving"); });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (drag) { view.x += x - drag[0]; view.y += y - drag[1]; drag = [x, y]; showTip(-1); hovered = -1; draw(); return; }
    const found = nearest(x, y);
    if (found !== hovered) { hovered = found; draw(); }
    showTip(found, x, y);
  });
  canvas.addEventListener("pointerleave", () => { hovered = -1; showTip(-1); draw(); });
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener("keydown", (event) => {
    const [w, h] = size, step = 40, moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (event.key === "+" || event.key === "=") zoomAt(1.25, w / 2, h / 2);
    else if (event.key === "-") zoomAt(0.8, w / 2, h / 2);
    else if (event.key === "0") reset();
    else if (moves[event.key]) { view.x += moves[event.key][0]; view.y += moves[event.key][1]; draw(); }
    else return;
    event.preventDefault();
  });
  document.getElementById("reset").addEventListener("click", reset);
  for (const select of [across, up]) select.addEventListener("change", () => { hovered = -1; reset(); });
  which.addEventListener("change", () => {
    shown = data.maps[Number(which.value)];
    [across, up].forEach((select, first) => {
      select.replaceChildren(...shown.axes.map((axis, i) => new Option(axis.name, i, i === first, i === first)));
    });
    hovered = -1; canvas.dataset.map = shown.name; reset();
  });
  const recolour = () => { canvas.dataset.colour = column() ? column().name : ""; legend.colourBy(column()); draw(); };
  colour.addEventListener("change", recolour);
  if (pictures) drawn.addEventListener("change", () => draw());

  const fit = () => {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width || (box.width === size[0] && box.height === size[1])) return;
    const first = !size[0];
    size = [box.width, box.height];
    canvas.width = box.width * ratio; canvas.height = box.height * ratio;
    if (first && pictures) drawn.value = size[0] >= ROOM && n <= MOST_PICTURES ? "pictures" : "points";
    reset();
  };
  new ResizeObserver(fit).observe(canvas);
  const redraw = () => { if (view) { legend.show(); draw(); } };
  document.documentElement.addEventListener("theme", redraw);
  // Paper is white: draw with the colours of the light page, and back again.
  let before = null;
  addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; document.documentElement.dataset.theme = "light"; redraw(); });
  addEventListener("afterprint", () => { document.documentElement.dataset.theme = before; redraw(); });
  fit();
  recolour();
})();
