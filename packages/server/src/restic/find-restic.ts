import { access, constants } from 'node:fs/promises'
import path from 'node:path'
import type { ResticSettings } from '@lateen/repo/unified'

/** What restic may know of the environment: where it is at home, and its way to the network. */
const passedOn = [
  ...['PATH', 'HOME', 'TMPDIR', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
]

/** Less than a process is given to end. */
const GRACE_MS = 3_000

/**
 * The restic of this machine, by `PATH`; undefined where there is none. It keeps a cache where the environment names a folder for
 * scratch files, as Velero has it.
 */
export async function findRestic(
  env: Readonly<Record<string, string | undefined>>,
): Promise<ResticSettings | undefined> {
  const folders = (env.PATH ?? '').split(path.delimiter).filter(folder => path.isAbsolute(folder))
  for (const folder of folders) {
    const binary = path.join(folder, 'restic')
    if (!(await canRun(binary))) continue
    const scratch = env.VELERO_SCRATCH_DIR
    return {
      binary,
      env: Object.fromEntries(passedOn.flatMap(name => (env[name] ? [[name, env[name]]] : []))),
      ...(scratch && { cacheFolder: path.join(scratch, '.cache', 'restic') }),
      graceMs: GRACE_MS,
    }
  }
  return undefined
}

function canRun(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
