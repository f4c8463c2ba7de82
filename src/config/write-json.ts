import { basename, dirname } from 'node:path';
import { describeFileError, LocalError } from '../errors.ts';
import { makeDirectories } from '../platform/files.ts';

/**
 * Replaces a JSON file: atomically, but of two changes in the same instant one may be lost. Only its owner can read it.
 * @param path ends in `.json`
 * @param name the subject of the error message: `The profiles in /home/anna/.config/partnerctl`
 * @throws LocalError if it cannot be written
 */
export async function writeJson(path: string, name: string, content: object): Promise<void> {
  // Loading it takes as long as a bare start, so only what writes does.
  const { default: Conf } = await import('conf');
  const cwd = dirname(path);
  try {
    await makeDirectories(cwd);
    const configName = basename(path, '.json');
    const conf = new Conf({ cwd, configName, configFileMode: 0o600, accessPropertiesByDotNotation: false });
    conf.store = { ...content };
  } catch (error) {
    throw new LocalError(`${name} cannot be written.`, { why: describeFileError(error), cause: error });
  }
}
