"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("map"), tip = document.getElementById("tip"), legend = document.getElementById("legend");
  const colour = document.getElementById("colour"), across = document.getElementById("across"), up = document.getElementById("up");
  const which = document.getElementById("which");
  const pen = canvas.getContext("2d");
  const n = data.rows.length, COLOURS = 6, SHAPES = 6, REACH = 12, MARGIN = 34;
  const VIRIDIS = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6dcd59", "#b4de2c", "#fde725"]
    .map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  let shown = data.maps[0], view = null, hovered = -1, only = null, size = [0, 0];

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const viridis = (t) => {
    const place = Math.max(0, Math.min(0.9999, t)) * (VIRIDIS.length - 1), i = Math.floor(place), f = place - i;
    return `rgb(${VIRIDIS[i].map((v, c) => Math.round(v + f * (VIRIDIS[i + 1][c] - v))).join()})`;
  };
  const column = () => data.columns[Number(colour.value)] || null;
  const axis = (select) => Number(select.value);

  const shapeOf = (code) => (code + Math.floor(code / COLOURS)) % SHAPES;

  // Shapes differ with another period than colours, so that no two labels look alike.
  const trace = (shape, x, y, r, pen) => {
    pen.beginPath();
    if (shape === 0) pen.arc(x, y, r, 0, 2 * Math.PI);
    else if (shape === 1) pen.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
    else if (shape === 2) polygon([[0, -1.2], [1.1, 0.8], [-1.1, 0.8]], x, y, r, pen);
    else if (shape === 3) polygon([[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]], x, y, r, pen);
    else if (shape === 4) polygon([[0, 1.2], [1.1, -0.8], [-1.1, -0.8]], x, y, r, pen);
    else polygon(CROSS, x, y, r, pen);
  };
  const CROSS = [[-.4, -1.2], [.4, -1.2], [.4, -.4], [1.2, -.4], [1.2, .4], [.4, .4], [.4, 1.2], [-.4, 1.2], [-.4, .4], [-1.2, .4], [-1.2, -.4], [-.4, -.4]];
  const polygon = (corners, x, y, r, pen) => {
    corners.forEach(([a, b], i) => (i ? pen.lineTo(x + a * r, y + b * r) : pen.moveTo(x + a * r, y + b * r)));
    pen.closePath();
  };

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

  const styleOf = () => {
    const chosen = column(), palette = [0, 1, 2, 3, 4, 5].map((i) => css(`--c${i}`));
    if (!chosen) return () => [palette[1], 0];
    if (chosen.kind === "category") return (i) => {
      const code = chosen.values[i];
      return code === null ? [null, 0] : [palette[code % COLOURS], shapeOf(code)];
    };
    const [low, high] = chosen.range;
    return (i) => (chosen.values[i] === null ? [null, 0] : [viridis((chosen.values[i] - low) / (high - low || 1)), 0]);
  };
  const faded = (i) => only !== null && column() && column().values[i] !== only;

  const draw = () => {
    const ratio = window.devicePixelRatio || 1, [w, h] = size;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    grid(w, h);
    const style = styleOf(), r = Math.max(2.4, Math.min(5.5, 150 / Math.sqrt(n))) * Math.min(1.6, Math.sqrt(view.zoom));
    const edge = css("--paper"), muted = css("--muted");
    for (let i = 0; i < n; i++) {
      if (shown.points[i].includes(null)) continue;
      const [x, y] = place(i);
      if (x < -9 || y < -9 || x > w + 9 || y > h + 9) continue;
      const [fill, shape] = style(i);
      pen.globalAlpha = faded(i) ? 0.08 : 0.88;
      trace(shape, x, y, r, pen);
      if (fill === null) { pen.strokeStyle = muted; pen.lineWidth = 1; pen.stroke(); continue; }
      pen.fillStyle = fill; pen.fill();
      pen.strokeStyle = edge; pen.lineWidth = 0.6; pen.stroke();
    }
    pen.globalAlpha = 1;
    if (hovered >= 0) {
      const [x, y] = place(hovered);
      trace(0, x, y, r + 4, pen); pen.strokeStyle = css("--ink"); pen.lineWidth = 2; pen.stroke();
    }
    canvas.dataset.zoom = view.zoom.toFixed(3);
    canvas.dataset.hovered = hovered;
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

  const words = (col, value) => {
    if (value === null || value === undefined) return "missing";
    if (col.kind === "category") return col.categories[value];
    return typeof value === "number" ? String(Number(value.toPrecision(5))) : value;
  };
  const cell = (row, text) => { row.insertCell().textContent = text; };
  const showTip = (i, x, y) => {
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren();
    const title = document.createElement("strong");
    title.textContent = `Row ${data.rows[i] + 1}`;
    const table = document.createElement("table");
    for (const col of data.columns.slice(0, 22)) { const row = table.insertRow(); cell(row, col.name); cell(row, words(col, col.values[i])); }
    tip.append(title, table);
    if (data.images) tip.append(picture(i));
    const [w, h] = size, box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 16, w - box.width - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 16, h - box.height - 4))}px`;
  };
  let pixels = null;
  const picture = (i) => {
    const [height, width] = data.images.shape, small = document.createElement("canvas");
    pixels = pixels || Uint8Array.from(atob(data.images.values), (c) => c.charCodeAt(0));
    small.width = width; small.height = height;
    small.style.width = `${Math.max(1, Math.floor(96 / width)) * width}px`;
    const paper = small.getContext("2d"), image = paper.createImageData(width, height);
    for (let p = 0; p < width * height; p++) {
      const grey = 255 - pixels[i * width * height + p];
      image.data.set([grey, grey, grey, 255], 4 * p);
    }
    paper.putImageData(image, 0, 0);
    return small;
  };

  const nearest = (x, y) => {
    let best = -1, least = REACH ** 2;
    for (let i = 0; i < n; i++) {
      if (shown.points[i].includes(null) || faded(i)) continue;
      const [a, b] = place(i), d = (a - x) ** 2 + (b - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  };
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

  const swatch = (code) => {
    const small = document.createElement("canvas"), ratio = window.devicePixelRatio || 1;
    small.width = small.height = 14 * ratio; small.style.width = small.style.height = "14px";
    const paper = small.getContext("2d");
    paper.scale(ratio, ratio);
    trace(shapeOf(code), 7, 7, 4.6, paper);
    paper.fillStyle = css(`--c${code % COLOURS}`); paper.fill();
    return small;
  };
  const showLegend = () => {
    legend.replaceChildren();
    const chosen = column();
    if (!chosen) return;
    if (chosen.kind === "category") {
      chosen.categories.forEach((name, code) => {
        const item = document.createElement("button"), text = document.createElement("span");
        text.textContent = `${name} (${chosen.counts[code]})`;
        item.append(swatch(code), text);
        item.setAttribute("aria-pressed", only === code);
        item.addEventListener("click", () => { only = only === code ? null : code; showLegend(); draw(); });
        legend.append(item);
      });
      return;
    }
    const scale = document.createElement("div"), bar = document.createElement("div"), ends = document.createElement("div");
    scale.className = "scale"; bar.className = "bar"; ends.className = "ends";
    bar.style.background = `linear-gradient(to top, ${VIRIDIS.map((c) => `rgb(${c.join()})`).join()})`;
    for (const t of [1, 0.5, 0]) {
      const label = document.createElement("span");
      label.textContent = String(Number((chosen.range[0] + t * (chosen.range[1] - chosen.range[0])).toPrecision(4)));
      ends.append(label);
    }
    scale.append(bar, ends); legend.append(scale);
  };
  const recolour = () => { only = null; canvas.dataset.colour = column() ? column().name : ""; showLegend(); draw(); };
  colour.addEventListener("change", recolour);

  const fit = () => {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width || (box.width === size[0] && box.height === size[1])) return;
    size = [box.width, box.height];
    canvas.width = box.width * ratio; canvas.height = box.height * ratio;
    reset();
  };
  new ResizeObserver(fit).observe(canvas);
  document.documentElement.addEventListener("theme", () => { if (view) { showLegend(); draw(); } });
  // Paper is white: draw with the colours of the light page, and back again.
  let before = null;
  addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; document.documentElement.dataset.theme = "light"; showLegend(); draw(); });
  addEventListener("afterprint", () => { document.documentElement.dataset.theme = before; showLegend(); draw(); });
  fit();
  recolour();
})();
