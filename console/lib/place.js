// The address: #/page?name=value. It holds filters and the open record, so that a link can be shared.

export function here() {
  const [path, text = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { page: path || "live", parameters: Object.fromEntries(new URLSearchParams(text)) };
}

export function address(page, parameters = {}) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(pairs).toString();
  return `#/${page}${text && `?${text}`}`;
}

export function go(page, parameters = {}) {
  location.hash = address(page, parameters);
}

// Changes some parameters of this page; undefined takes one away.
export function change(parameters) {
  const at = here();
  go(at.page, { ...at.parameters, ...parameters });
}
