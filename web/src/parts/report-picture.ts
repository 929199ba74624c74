/** The picture on a report's first screen, as an image to paste somewhere else. */

import { save } from "../api/client";

const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]+$/;
/** Twice as sharp as on the page, within what a canvas can hold. */
const SCALE = 2;
const WIDEST = 4096;

/** Its data, read from the report's text by a parser that runs and loads nothing; null if there is none. */
export function pictureIn(html: string): string | null {
  const image = new DOMParser().parseFromString(html, "text/html").querySelector("#picture img");
  const source = image?.getAttribute("src") ?? "";
  return PICTURE.test(source) ? source : null;
}

/** Put it on the clipboard; where the browser refuses that, hand it over as a file. */
export async function copyPicture(source: string, name: string): Promise<"copied" | "saved"> {
  const png = await pngOf(source);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
    return "copied";
  } catch {
    save(png, name);
    return "saved";
  }
}

async function pngOf(source: string): Promise<Blob> {
  const image = await loaded(source);
  const [width, height] = [image.naturalWidth || 1200, image.naturalHeight || 800];
  const scale = Math.min(SCALE, WIDEST / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  if (pen === null) throw new Error("This browser draws no images.");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((png) => (png === null ? reject(new Error("The picture cannot be drawn.")) : resolve(png)), "image/png");
  });
}

/** An SVG in an image runs no scripts and loads nothing. */
function loaded(source: string): Promise<HTMLImageElement> {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error("The picture cannot be read."));
    image.src = source;
  });
}
