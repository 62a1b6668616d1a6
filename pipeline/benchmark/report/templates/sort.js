// A click on the head of a column sorts the rows of a table without groups.
const UNITS = {B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40};
const NUMBER = /^([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)[\s×]*(%|s|ms|B|KiB|MiB|GiB|TiB)?\s*(faster|slower)?$/;
function key(text) {
  const [, digits, unit, way] = text.match(NUMBER) || [];
  const number = Number((digits || "").replaceAll(",", "")) * (UNITS[unit] || 1);
  return !text || text === "–" ? null : !digits ? text : way === "slower" ? 1 / number : number;
}
for (const table of document.querySelectorAll(".scroll:not(.fixed) table")) {
  const groups = [...table.tBodies], heads = [...table.tHead.rows[0].cells];
  if (groups.length < 2 || groups.some(group => group.rows.length > 1)) continue;
  heads.forEach((head, place) => {
    const button = head.appendChild(document.createElement("button"));
    button.append(...[...head.childNodes].filter(node => node !== button));
    button.addEventListener("click", () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1, of = group => key(group.rows[0].cells[place].textContent.trim());
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const compare = (a, b) => a === null || b === null ? (a === null) - (b === null)
        : typeof a !== typeof b ? (typeof a === "string") - (typeof b === "string")
        : sign * (typeof a === "string" ? a.localeCompare(b, "en", {numeric: true}) : a - b);
      table.append(...[...groups].sort((a, b) => compare(of(a), of(b))));
    });
  });
}
