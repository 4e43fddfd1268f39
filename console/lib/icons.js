// Icons and shapes as SVG elements. They take the colour of the text around them.
const SVG = "http://www.w3.org/2000/svg";

// Lines on a grid of 18.
const ICONS = {
  live: "M1.5 10h3l2.5-6 4 10 2.5-4h3",
  keys: "M11.5 2.5a4 4 0 1 1-3.4 6.1L2.5 14.2v1.8h2.6v-2h2v-2l1.6-1.6",
  unknown: "M9 1.8 16.2 9 9 16.2 1.8 9zM9 5.6v4.2M9 12v.4",
  queues: "M2.5 4.5h13M2.5 9h13M2.5 13.5h8",
  routes: "M4 15.5V9a3 3 0 0 1 3-3h7M11 2.8 14.4 6 11 9.2M4 5.5v-3",
  nodes: "M3 3h12v4.5H3zM3 10.500h12V15H3zM6 5.2h.2M6 12.700h.2",
  why: "M6.300 6.500a2.800 2.800 0 1 1 4 2.600c-.9.4-1.300 1-1.300 2M9 13.700v.3M9 1.500a7.500 7.500 0 1 1 0 15 7.500 7.500 0 0 1 0-15",
  close: "M4 4l10 10M14 4 4 14",
  sun: "M9 5.800a3.200 3.200 0 1 1 0 6.400 3.200 3.200 0 0 1 0-6.400M9 1.500v1.800M9 14.700v1.800M1.500 9h1.800M14.700 9h1.800M3.700 3.700 5 5M13 13l1.300 1.300M14.300 3.700 13 5M5 13l-1.300 1.300",
  moon: "M14.800 11A6.300 6.300 0 0 1 7 3.200 6.300 6.300 0 1 0 14.800 11",
  system: "M2 3h14v9.500H2zM6.500 15.500h5M9 12.500v3",
  pause: "M6 4v10M12 4v10",
  play: "M5.500 3.500v11l9-5.500z",
  person: "M9 2.500a3 3 0 1 1 0 6 3 3 0 0 1 0-6M3 15.500c.5-3 2.800-4.500 6-4.500s5.500 1.500 6 4.500",
};

// Filled shapes on a grid of 10: one per meaning, so that no colour stands alone.
const SHAPES = {
  dot: "M5 1a4 4 0 1 1 0 8 4 4 0 0 1 0-8",
  ring: "M5 1a4 4 0 1 1 0 8 4 4 0 0 1 0-8M5 3a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
  half: "M5 1a4 4 0 1 1 0 8 4 4 0 0 1 0-8M5 2.300v5.400a2.700 2.700 0 0 0 0-5.400",
  square: "M1.500 1.500h7v7h-7z",
  hollow: "M1 1h8v8H1zM2.800 2.800v4.400h4.400V2.800z",
  triangle: "M5 .8 9.600 9H.4z",
  unequal: "M1 2.500h8V4H1zM1 6h8v1.500H1zM6.200.5l1.500.7-4 8.300-1.500-.7z",
  diamond: "M5 0l5 5-5 5-5-5z",
  again: "M5 1a4 4 0 0 1 3.400 1.900L9.500 1.800V5.200H6.100l1.200-1.200A2.500 2.500 0 1 0 7.200 6.200l1.500.9A4 4 0 1 1 5 1",
  bars: "M1.500 1h2.400v8H1.500zM6.100 1h2.400v8H6.100z",
  cross: "M1.700.6 5 3.900 8.300.6l1.100 1.100L6.100 5l3.300 3.300-1.100 1.100L5 6.100 1.700 9.400.6 8.300 3.900 5 .6 1.700z",
  arrow: "M.5 4.200h5.600L4 2.100 5.100 1l4 4-4 4L4 7.900l2.100-2.100H.5z",
  dash: "M1 4h8v2H1z",
};

function svg(box, path, attributes) {
  const image = document.createElementNS(SVG, "svg");
  image.setAttribute("viewBox", `0 0 ${box} ${box}`);
  image.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
  image.append(line);
  return image;
}

export function icon(name) {
  return svg(18, ICONS[name], {
    fill: "none", stroke: "currentColor", "stroke-width": "1.4", "stroke-linecap": "round", "stroke-linejoin": "round" });
}

export function shape(name, tone) {
  const image = svg(10, SHAPES[name], { fill: "currentColor", "fill-rule": "evenodd" });
  image.setAttribute("class", `tone-${tone}`);
  return image;
}
