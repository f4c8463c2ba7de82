import { HISTORY_DIALECTS, REQUEST_DIALECTS, STATUS_DIALECTS } from './dialects/behaviors.ts';
import { NAME_DIALECTS } from './dialects/names.ts';
import { PAGE_DIALECTS } from './dialects/pages.ts';
import { PLAIN } from './plain.ts';
import type { Shape } from './shape.ts';

/** Every shape of the sandbox. */
export const SHAPES: readonly Shape[] = [
  PLAIN,
  ...NAME_DIALECTS,
  ...PAGE_DIALECTS,
  ...HISTORY_DIALECTS,
  ...STATUS_DIALECTS,
  ...REQUEST_DIALECTS,
];

/** Finds a shape by name. */
export function findShape(name: string): Shape | undefined {
  return SHAPES.find((shape) => shape.name === name);
}
