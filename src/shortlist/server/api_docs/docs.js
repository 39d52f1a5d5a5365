// The OpenAPI document as a page: every operation with its parameters, its answers and a form to try it.

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

const api = await (await fetch("/openapi.json")).json();

const resolve = (schema) =>
  schema?.$ref ? schema.$ref.split("/").slice(1).reduce((found, key) => found[key], api) : schema ?? {};

function example(schema, depth = 0) {
  const found = resolve(schema);
  if (found.examples?.length) return found.examples[0];
  if (found.default !== undefined) return found.default;
  const choice = found.anyOf?.find((each) => each.type !== "null");
  if (choice) return example(choice, depth);
  if (found.enum) return found.enum[0];
  if (found.const !== undefined) return found.const;
  if (found.type === "array") return depth > 3 ? [] : [example(found.items, depth + 1)];
  if (found.type === "object" && found.properties)
    return Object.fromEntries(
      Object.entries(found.properties).map(([key, value]) => [key, depth > 3 ? null : example(value, depth + 1)]),
    );
  return { object: {}, string: "text", integer: 1, number: 1.5, boolean: true }[found.type] ?? null;
}

const asText = (value) => JSON.stringify(value, null, 2);

function answers(responses) {
  const rows = Object.entries(responses).map(([status, response]) =>
    make("tr", {}, make("th", { scope: "row" }, status), make("td", {}, response.description)),
  );
  return make("details", {}, make("summary", {}, "Responses"), make("div", { class: "inside" }, make("table", {}, ...rows)));
}

function tryIt(method, path, operation) {
  const parameters = (operation.parameters ?? []).map((parameter) => {
    const input = make("input", { name: parameter.name });
    const kind = parameter.in === "path" ? "required" : resolve(parameter.schema).description ?? parameter.description ?? "optional";
    return { ...parameter, input, label: make("label", {}, `${parameter.name} (${kind})`, input) };
  });
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const body = schema && make("textarea", { "aria-label": "Body", spellcheck: "false" });
  if (body) body.value = asText(example(schema));
  const output = make("pre", { "aria-live": "polite" });
  output.hidden = true;
  const form = make("form", {}, ...parameters.map((each) => each.label), ...(body ? [body] : []), make("button", {}, `Send ${method}`));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let address = path;
    const query = new URLSearchParams();
    for (const { name, input, in: where } of parameters) {
      if (where === "path") address = address.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value) query.set(name, input.value);
    }
    const headers = {};
    if (body) headers["Content-Type"] = "application/json";
    const token = document.getElementById("token").value;
    if (token) headers.Authorization = `Bearer ${token}`;
    output.hidden = false;
    try {
      const response = await fetch(query.size ? `${address}?${query}` : address, { method, headers, body: body?.value });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json");
      output.textContent = `${response.status}\n${isJson ? asText(JSON.parse(text)) : text}`;
    } catch (error) {
      output.textContent = String(error);
    }
  });
  return [form, output];
}

function shown(method, path, operation) {
  const answer = operation.responses["200"]?.content?.["application/json"]?.schema;
  const summary = make("summary", {}, make("span", { class: `method ${method}` }, method.toUpperCase()), make("code", {}, path), " ", make("span", {}, operation.summary ?? ""));
  const inside = make("div", { class: "inside" }, make("p", {}, operation.description ?? ""), ...tryIt(method.toUpperCase(), path, operation));
  if (answer) inside.append(make("details", {}, make("summary", {}, "Example answer"), make("pre", {}, asText(example(answer)))));
  inside.append(answers(operation.responses));
  return make("details", {}, summary, inside);
}

const groups = new Map();
for (const [path, operations] of Object.entries(api.paths))
  for (const [method, operation] of Object.entries(operations)) {
    const tag = operation.tags?.[0] ?? "other";
    groups.set(tag, [...(groups.get(tag) ?? []), shown(method, path, operation)]);
  }
document.getElementById("version").textContent = api.info.version;
document.getElementById("about").textContent = api.info.description;
const main = document.getElementById("operations");
main.replaceChildren(...[...groups].map(([tag, items]) => make("section", {}, make("h2", {}, tag), ...items)));
main.removeAttribute("aria-busy");
