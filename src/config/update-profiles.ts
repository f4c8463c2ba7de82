import { type Profiles, profilesPath, readProfiles } from './profiles.ts';
import { type UpdateDeps, updateFile } from './update-file.ts';

/** A change of the profiles. Must be pure: it is repeated when another process changes the profiles meanwhile. */
export type ProfilesChange = (profiles: Profiles) => Profiles;

/** Changes the profiles file. @returns the profiles after the change @throws as `updateFile` */
export function updateProfiles(directory: string, change: ProfilesChange, deps: UpdateDeps): Promise<Profiles> {
  const file = {
    path: profilesPath(directory),
    name: `The profiles in ${directory}`,
    read: () => readProfiles(directory),
    format: (profiles: Profiles) => profiles,
  };
  return updateFile(file, change, deps);
}
