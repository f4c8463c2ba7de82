import { isAbsolute, join } from 'node:path';
import type { Environment } from '../platform/io.ts';

/**
 * Returns the directory that holds the profiles: PARTNER_CONFIG_DIR, else `$XDG_CONFIG_HOME/partnerctl`, else
 * `~/.config/partnerctl` (`%APPDATA%\partnerctl` on Windows). Pure.
 */
export function configDirectory(env: Environment, platform: NodeJS.Platform, home: string): string {
  if (env.PARTNER_CONFIG_DIR) return env.PARTNER_CONFIG_DIR;
  if (env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME)) return join(env.XDG_CONFIG_HOME, 'partnerctl');
  if (platform === 'win32' && env.APPDATA) return join(env.APPDATA, 'partnerctl');
  return join(home, '.config', 'partnerctl');
}
