import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The release of Velero whose API we match. */
export const veleroVersion = 'v1.18.3'

/** The folder of a downloaded module, or why there is none on this machine. */
export type VeleroModule = { readonly dir: string; readonly skip: false } | { readonly skip: string }

/**
 * The source of Velero in Go's module cache, downloaded when it is not there yet.
 * Throws when Go is present but cannot download it.
 */
export async function veleroModuleDir(signal?: AbortSignal): Promise<VeleroModule> {
  const folder = await mkdtemp(join(tmpdir(), 'lateen-velero-module-'))
  try {
    await writeFile(join(folder, 'go.mod'), 'module lateen.dev/velero\n')
    const { stdout } = await run(
      'go',
      ['mod', 'download', '-json', `github.com/vmware-tanzu/velero@${veleroVersion}`],
      {
        cwd: folder,
        ...(signal && { signal }),
      },
    )
    return { dir: JSON.parse(stdout).Dir, skip: false }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return { skip: `go is not on PATH, so Velero ${veleroVersion} cannot be downloaded` }
    }
    throw new Error(
      `Velero ${veleroVersion} could not be downloaded; check that the Go module proxy is reachable`,
      {
        cause: error,
      },
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}
