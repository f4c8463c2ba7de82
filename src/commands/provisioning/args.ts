import { Option } from '@commander-js/extra-typings';
import { collect, integer } from '../../cli/options.ts';

/* What plan and provision have in common. */

export const FILES_HELP = 'YAML files, directories of them, or - for standard input';

export function varOption() {
  return new Option('--var <NAME=value>', 'a value for ${NAME} that wins over the environment; repeatable')
    .argParser(collect)
    .default([]);
}

export function concurrencyOption() {
  return new Option('--concurrency <n>', 'how many documents at a time').argParser(integer(1, 64)).default(4);
}

export function installRenamedOption() {
  return new Option(
    '--install-renamed',
    'install an agent although the space has one of its template that the manifest does not name',
  );
}

/** @param condition what the option needs, and a colon */
export function exitCodeOption(condition = '') {
  return new Option(
    '--detailed-exitcode',
    `${condition}exit with 0 if there is nothing to do, 12 if changes are pending, and 13 if only differences are left, which no call can change`,
  );
}
