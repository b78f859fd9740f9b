// Rows that are images: one sheet with all of them, and where they fit on the map without covering each other.
const Pictures = (images, n) => {
  const [height, width, channels = 1] = images.shape, across = Math.ceil(Math.sqrt(n));
  const longer = Math.max(height, width);
  let sheet = null;
  const drawSheet = () => {
    const bytes = Uint8Array.from(atob(images.values), (c) => c.charCodeAt(0));
    sheet = document.createElement("canvas");
    sheet.width = across * width; sheet.height = Math.ceil(n / across) * height;
    const paper = sheet.getContext("2d"), image = paper.createImageData(width, height);
    for (let i = 0; i < n; i++) {
      for (let p = 0; p < width * height; p++) {
        const at = channels * (i * width * height + p);
        for (let c = 0; c < 3; c++) image.data[4 * p + c] = bytes[at + (channels === 3 ? c : 0)];
        image.data[4 * p + 3] = 255;
      }
      paper.putImageData(image, (i % across) * width, Math.floor(i / across) * height);
    }
  };
  const paint = (pen, i, x, y, side) => {
    if (!sheet) drawSheet();
    const w = side * width / longer, h = side * height / longer;
    pen.imageSmoothingEnabled = side < longer;
    pen.drawImage(sheet, (i % across) * width, Math.floor(i / across) * height, width, height, x - w / 2, y - h / 2, w, h);
    return [x - w / 2, y - h / 2, w, h];
  };
  const single = (i) => {
    const small = document.createElement("canvas"), factor = Math.max(1, Math.floor(96 / longer));
    small.width = factor * width; small.height = factor * height;
    paint(small.getContext("2d"), i, small.width / 2, small.height / 2, factor * longer);
    return small;
  };
  // In an order that has nothing to do with that of the table, which often is sorted.
  const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => (Math.imul(a, 2654435761) >>> 0) - (Math.imul(b, 2654435761) >>> 0));
  const layout = (place, wanted, side, [w, h]) => {
    const cells = new Map(), found = [], gap = side + 5;
    for (const i of order) {
      if (!wanted(i)) continue;
      const [x, y] = place(i), a = Math.floor(x / gap), b = Math.floor(y / gap);
      if (x < side / 2 || y < side / 2 || x > w - side / 2 || y > h - side / 2) continue;
      let free = true;
      for (let p = a - 1; p <= a + 1 && free; p++) for (let q = b - 1; q <= b + 1 && free; q++) {
        const other = cells.get(`${p},${q}`);
        free = !other || Math.abs(other[0] - x) >= gap || Math.abs(other[1] - y) >= gap;
      }
      if (free) { cells.set(`${a},${b}`, [x, y]); found.push({ row: i, x, y }); }
    }
    return found;
  };
  return { paint, single, layout };
};
