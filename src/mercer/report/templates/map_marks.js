// How rows look: colours, shapes, and the little signs of the legend.
const Marks = (() => {
  const COLOURS = 20, SHAPES = 6;
  const VIRIDIS = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6dcd59", "#b4de2c", "#fde725"]
    .map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const CROSS = [[-.4, -1.2], [.4, -1.2], [.4, -.4], [1.2, -.4], [1.2, .4], [.4, .4], [.4, 1.2], [-.4, 1.2], [-.4, .4], [-1.2, .4], [-1.2, -.4], [-.4, -.4]];

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const palette = () => Array.from({ length: COLOURS }, (_, i) => css(`--c${i}`));
  const viridis = (t) => {
    const place = Math.max(0, Math.min(0.9999, t)) * (VIRIDIS.length - 1), i = Math.floor(place), f = place - i;
    return `rgb(${VIRIDIS[i].map((v, c) => Math.round(v + f * (VIRIDIS[i + 1][c] - v))).join()})`;
  };
  const ramp = () => `linear-gradient(to top, ${VIRIDIS.map((c) => `rgb(${c.join()})`).join()})`;

  // Where colours repeat, shapes differ: no two labels look alike.
  const shapeOf = (code) => (code % COLOURS + Math.floor(code / COLOURS)) % SHAPES;
  const polygon = (corners, x, y, r, pen) => {
    corners.forEach(([a, b], i) => (i ? pen.lineTo(x + a * r, y + b * r) : pen.moveTo(x + a * r, y + b * r)));
    pen.closePath();
  };
  const trace = (shape, x, y, r, pen) => {
    pen.beginPath();
    if (shape === 0) pen.arc(x, y, r, 0, 2 * Math.PI);
    else if (shape === 1) pen.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
    else if (shape === 2) polygon([[0, -1.2], [1.1, 0.8], [-1.1, 0.8]], x, y, r, pen);
    else if (shape === 3) polygon([[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]], x, y, r, pen);
    else if (shape === 4) polygon([[0, 1.2], [1.1, -0.8], [-1.1, -0.8]], x, y, r, pen);
    else polygon(CROSS, x, y, r, pen);
  };

  // Gives a function of rows: [colour or null, shape]. Null is an empty ring: the entry is missing.
  const styleOf = (column) => {
    const colours = palette(), muted = css("--muted");
    if (!column) return () => [colours[1], 0];
    if (column.kind === "category") return (i) => {
      const code = column.values[i];
      if (code === null) return [null, 0];
      return code < column.coloured ? [colours[code % COLOURS], shapeOf(code)] : [muted, 0];
    };
    const [low, high] = column.range;
    return (i) => (column.values[i] === null ? [null, 0] : [viridis((column.values[i] - low) / (high - low || 1)), 0]);
  };
  const swatch = (column, code) => {
    const small = document.createElement("canvas"), ratio = window.devicePixelRatio || 1, other = code >= column.coloured;
    small.width = small.height = 14 * ratio; small.style.width = small.style.height = "14px";
    const paper = small.getContext("2d");
    paper.scale(ratio, ratio);
    trace(other ? 0 : shapeOf(code), 7, 7, 4.6, paper);
    paper.fillStyle = css(other ? "--muted" : `--c${code % COLOURS}`); paper.fill();
    return small;
  };
  return { css, ramp, trace, styleOf, swatch };
})();
