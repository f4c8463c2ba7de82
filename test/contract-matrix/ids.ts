import { createHash } from 'node:crypto';
import type { IdStyle } from './facts.ts';

/** `spa_1ax`: the initial letters of the resource, and a number. */
export const prefixed: IdStyle = (number, resource) => `${resource.slice(0, 3)}_${number.toString(36)}x`;

export const numbers: IdStyle = (number) => 41_000 + number;

export const digits: IdStyle = (number) => String(880_000 + number);

/** More digits than a JavaScript number can hold. */
export const snowflakes: IdStyle = (number) => `11774563218900${40_000 + number}`;

export const uuids: IdStyle = (number, resource) =>
  hash(number, resource).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');

/** Object ids of MongoDB: they grow with time. */
export const objectIds: IdStyle = (number, resource) =>
  `65f0c${number.toString(16).padStart(3, '0')}${hash(number, resource).slice(0, 16)}`;

function hash(number: number, resource: string): string {
  return createHash('sha256').update(`${resource} ${number}`).digest('hex');
}
