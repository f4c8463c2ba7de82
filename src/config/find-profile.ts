import { NotFoundError } from '../errors.ts';
import type { Profile, Profiles } from './profiles.ts';

/** A profile by name. @throws NotFoundError that names those that there are */
export function findProfile(stored: Profiles, name: string): Profile {
  const profile = Object.hasOwn(stored.profiles, name) ? stored.profiles[name] : undefined;
  if (profile) return profile;
  const names = Object.keys(stored.profiles);
  throw new NotFoundError(`There is no profile ${JSON.stringify(name)}.`, {
    hint: names.length === 0 ? '`partnerctl login` makes one.' : `There are: ${names.join(', ')}.`,
  });
}
