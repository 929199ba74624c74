/** Where the tasks of a plan stand when they are drawn as a graph: layers from the top, few crossings. Pure. */

import type { Task } from "../../api/types";

export interface Placed {
  task: Task;
  x: number;
  y: number;
}

export interface Edge {
  id: string;
  from: Placed;
  to: Placed;
}

export interface Layout {
  width: number;
  height: number;
  nodes: Placed[];
  edges: Edge[];
}

export const NODE_WIDTH = 146;
export const NODE_HEIGHT = 46;
export const GAP_X = 12;
const GAP_Y = 34;
const ROUNDS = 4;

/** `columns`: so many stand side by side; a wider layer goes on below. */
export function layout(tasks: readonly Task[], columns = Number.POSITIVE_INFINITY): Layout {
  const layers = ordered(layered(tasks), tasks).flatMap((layer) => wrapped(layer, columns));
  const widest = Math.max(1, ...layers.map((layer) => layer.length));
  const width = widest * NODE_WIDTH + (widest - 1) * GAP_X;
  const placed = new Map<string, Placed>();
  layers.forEach((layer, depth) => {
    const used = layer.length * NODE_WIDTH + (layer.length - 1) * GAP_X;
    layer.forEach((task, at) => {
      const x = (width - used) / 2 + at * (NODE_WIDTH + GAP_X);
      placed.set(task.id, { task, x, y: depth * (NODE_HEIGHT + GAP_Y) });
    });
  });
  const edges = tasks.flatMap((task) =>
    task.after.flatMap((other) => {
      const [from, to] = [placed.get(other), placed.get(task.id)];
      return from && to ? [{ id: `${other} ${task.id}`, from, to }] : [];
    }),
  );
  const height = layers.length * (NODE_HEIGHT + GAP_Y) - GAP_Y;
  return { width, height: Math.max(0, height), nodes: [...placed.values()], edges };
}

function wrapped(layer: Task[], columns: number): Task[][] {
  const rows = Math.ceil(layer.length / columns) || 1;
  const each = Math.ceil(layer.length / rows);
  return Array.from({ length: rows }, (_, row) => layer.slice(row * each, (row + 1) * each));
}

/** Each task one layer below the lowest of those it needs. */
function layered(tasks: readonly Task[]): Task[][] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const depths = new Map<string, number>();
  const depthOf = (task: Task, seen: ReadonlySet<string>): number => {
    const known = depths.get(task.id);
    if (known !== undefined) return known;
    const needed = task.after.flatMap((id) => {
      const other = byId.get(id);
      return other === undefined || seen.has(id) ? [] : [depthOf(other, new Set([...seen, task.id])) + 1];
    });
    const depth = Math.max(0, ...needed);
    depths.set(task.id, depth);
    return depth;
  };
  const layers: Task[][] = [];
  for (const task of tasks) (layers[depthOf(task, new Set([task.id]))] ??= []).push(task);
  return layers.map((layer) => layer ?? []);
}

/** Each layer sorted by where its neighbours stand, down and up again. */
function ordered(layers: Task[][], tasks: readonly Task[]): Task[][] {
  const above = new Map(tasks.map((task) => [task.id, task.after]));
  const below = new Map<string, string[]>();
  for (const task of tasks) for (const other of task.after) below.set(other, [...(below.get(other) ?? []), task.id]);
  let now = layers;
  for (let round = 0; round < ROUNDS; round += 1) {
    const neighbours = round % 2 === 0 ? above : below;
    const places = new Map(
      now.flatMap((layer) => layer.map((task, at) => [task.id, (at + 0.5) / layer.length] as const)),
    );
    const middle = (task: Task) => {
      const found = (neighbours.get(task.id) ?? []).flatMap((id) => places.get(id) ?? []);
      return found.length === 0
        ? (places.get(task.id) ?? 0)
        : found.reduce((sum, place) => sum + place, 0) / found.length;
    };
    now = now.map((layer) => layer.toSorted((a, b) => middle(a) - middle(b)));
  }
  return now;
}
