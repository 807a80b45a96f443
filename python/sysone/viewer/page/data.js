// What documents carry: packed text, and numbers in base64.

export function bytes(text) {
  const raw = atob(text);
  const found = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
  return found;
}

export function int32(text) {
  const raw = bytes(text || "");
  return new Int32Array(raw.buffer, 0, raw.byteLength >> 2);
}

export async function unpack(text) {
  const packed = new DecompressionStream("gzip");
  const writer = packed.writable.getWriter();
  writer.write(bytes(text)).catch(() => {});  // what is wrong with it, the reader is told
  writer.close().catch(() => {});
  return new Response(packed.readable).text();
}

// The last index whose value is not above `wanted`, or -1; `values` rise.
export function lastAt(values, wanted, of = (value) => value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(values[middle]) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const FORMAT = "sysone-view-v1";

// Where documents come from: the server beside the page, or the page itself.
export class Source {
  constructor(embedded) {
    this.embedded = embedded;
  }

  static async find() {
    const block = document.getElementById("embedded-data");
    return new Source(block ? JSON.parse(block.textContent) : null);
  }

  get first() {
    return this.embedded ? this.embedded.first : "";
  }

  get served() {
    return this.embedded === null;
  }

  async get(kind, name) {
    if (this.embedded) {
      const packed = this.embedded[kind === "document" ? "documents" : kind][name];
      if (packed === undefined) throw new Error(`${name} is not in this file`);
      return JSON.parse(await unpack(packed));
    }
    const response = await fetch(`${kind}?name=${encodeURIComponent(name)}`);
    const found = await response.json();
    if (!response.ok) throw new Error(found.error || response.statusText);
    return found;
  }

  // What a document tells once it is shown.
  more(name) {
    return this.get("more", name);
  }

  async document(name) {
    const found = await this.get("document", name);
    if (found.format !== FORMAT) throw new Error(`format ${found.format}, expected ${FORMAT}`);
    return found;
  }

  async verify(name) {
    const response = await fetch(`verify?name=${encodeURIComponent(name)}`, {method: "POST"});
    const found = await response.json();
    if (!response.ok) throw new Error(found.error || response.statusText);
    return found;
  }

  picture(name) {
    if (this.embedded) {
      const found = this.embedded.pictures[name];
      return found === undefined ? null : `data:image/png;base64,${found}`;
    }
    return `picture/${name.split("/").map(encodeURIComponent).join("/")}`;
  }

  live(name, onNews, onRefused) {
    const events = new EventSource(`live?name=${encodeURIComponent(name)}`);
    events.onmessage = (event) => {
      const news = JSON.parse(event.data);
      onNews(news);
      if (news.ended) events.close();
    };
    events.addEventListener("refused", (event) => {
      events.close();
      onRefused(JSON.parse(event.data));
    });
    return events;
  }
}
