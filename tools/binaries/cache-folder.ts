import { homedir } from 'node:os'
import path from 'node:path'

/** Where binaries are kept between checkouts: `$LATEEN_CACHE`, else `lateen` below the user's cache home. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.LATEEN_CACHE ?? path.join(env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'lateen')
}
