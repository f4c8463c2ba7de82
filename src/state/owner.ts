import { hash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Owner } from './once-records.ts';

async function textOf(read: Promise<string>): Promise<string> {
  try {
    return await read;
  } catch {
    return '';
  }
}

/** A process as the kernel shows it: its state, and when it began; nothing where there is no such process, or no /proc. */
async function look(pid: number): Promise<{ readonly state?: string; readonly started?: string }> {
  const stat = await textOf(readFile(`/proc/${pid}/stat`, 'utf8'));
  // The name, in brackets, may hold spaces and brackets of its own.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, started] = [fields[0], fields[19]];
  return state && started ? { state, started } : {};
}

/** This process, in words that another one can check later. Nothing in them tells a person where it ran. */
export async function thisProcess(): Promise<Owner> {
  const boot = await textOf(readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
  const processes = await textOf(readlink('/proc/self/ns/pid'));
  const machine = hash('sha256', JSON.stringify([hostname(), boot.trim(), processes]), 'hex').slice(0, 16);
  return { machine, pid: process.pid, started: (await look(process.pid)).started ?? null };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Whether the process that made a reservation is gone.
 * @returns undefined where it cannot be told from here: it ran on another machine, in another container, or before a restart
 */
export async function hasEnded(owner: Owner): Promise<boolean | undefined> {
  const self = await thisProcess();
  if (owner.machine !== self.machine) return undefined;
  if (!exists(owner.pid)) return true;
  const { state, started } = await look(owner.pid);
  // A zombie is dead, though its number is still taken.
  if (state === 'Z' || state === 'X') return true;
  return owner.started !== null && started !== undefined && started !== owner.started;
}
