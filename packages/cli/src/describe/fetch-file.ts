import type { CustomObject, DownloadTargetKind } from '@lateen/api'
import { CliError } from '../cli-error.ts'
import type { DownloadPorts } from '../download/download-ports.ts'
import { downloadJson } from '../download/stream-download.ts'
import { errorReason } from '../output/error-line.ts'
import type { Fetched } from './backup-description.ts'

/** What gathering needs besides a way to download. */
export interface GatherPorts extends DownloadPorts {
  /** Hears what could not be listed; the description goes on without it. */
  readonly warn: (message: string) => void
}

/** Brings a JSON file of one object. */
export type FetchFile = <T>(kind: DownloadTargetKind) => Promise<Fetched<T>>

/** Fetches files of a backup or restore. What fails comes back as data; only an interruption is thrown. */
export function fileFetcher({ metadata }: Pick<CustomObject, 'metadata'>, ports: DownloadPorts): FetchFile {
  return <T>(kind: DownloadTargetKind) => fetchJson<T>(kind, metadata.name ?? '', ports)
}

async function fetchJson<T>(
  kind: DownloadTargetKind,
  name: string,
  ports: DownloadPorts,
): Promise<Fetched<T>> {
  try {
    return { got: 'content', content: (await downloadJson({ kind, name }, ports)) as T }
  } catch (error) {
    ports.signal.throwIfAborted()
    if (error instanceof CliError && error.code === 'NO_FILE') return { got: 'nothing' }
    const doing = error instanceof SyntaxError ? 'reading' : 'getting'
    return { got: 'error', while: doing, reason: errorReason(error) }
  }
}

/** A list, or none and a warning that names what failed. Throws only when the user interrupts. */
export async function listedOrWarned<T>(
  list: Promise<T[]>,
  what: string,
  { signal, warn }: GatherPorts,
): Promise<T[]> {
  return list.catch(error => {
    signal.throwIfAborted()
    warn(`error getting ${what}: ${errorReason(error)}`)
    return []
  })
}
