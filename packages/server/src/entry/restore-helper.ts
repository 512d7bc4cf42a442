import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { syncFolder } from '../data-path/sync-folder.ts'

/** What the helper needs. */
export interface RestoreHelperPorts {
  /** Holds one folder for each volume that is being restored. */
  readonly folder: string
  /** Lives as long as the pod. Where there is none, as in pods that Velero has restored, nothing is remembered. */
  readonly stateFolder: string
  /** Told each thing once, not once for each look. */
  readonly say: (line: string) => void
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/** Where a volume says that its restore is done, and for which restore. */
const doneFolder = '.velero'

const EVERY_MS = 250

/**
 * Waits until each volume has the file that says "this restore is done with me", then removes these files, so that a pod starts with its
 * data and nothing else. Init containers run again when their node starts anew: what was waited for once is not waited for again. Volumes
 * that cannot be looked at yet are waited for as well. A file that cannot be removed is said and left: the pod is worth more than its
 * tidiness. Throws a RangeError for what is no restore's uid, and the signal's reason.
 */
export async function waitForRestoredVolumes(
  restoreUid: string,
  ports: RestoreHelperPorts,
  signal: AbortSignal,
): Promise<void> {
  // The uid becomes part of a path in a volume whose content is not ours.
  if (!/^[\w-]+$/.test(restoreUid))
    throw new RangeError(`${JSON.stringify(restoreUid)} is no uid of a restore`)
  const said = new Set<string>()
  const sayOnce = (line: string) => {
    if (!said.has(line)) ports.say(line)
    said.add(line)
  }
  const remembered = path.join(ports.stateFolder, restoreUid)
  if (await isThere(remembered)) return ports.say('All volumes were restored before this container ran again')
  for (;;) {
    signal.throwIfAborted()
    if (await allDone(restoreUid, ports.folder, sayOnce)) break
    await ports.sleep(EVERY_MS, signal)
  }
  // As long as there is something else that tells.
  await remember(remembered, ports)
  ports.say('All volumes are restored')
  await tidyUp(ports, sayOnce)
}

function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}

async function remember(file: string, { stateFolder, say }: RestoreHelperPorts): Promise<void> {
  if (!(await isThere(stateFolder))) return
  try {
    await writeFile(file, '', { flush: true })
    await syncFolder(stateFolder)
  } catch (error) {
    say(`${file} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
}

async function allDone(restoreUid: string, folder: string, say: (line: string) => void): Promise<boolean> {
  const volumes = await volumesIn(folder, say)
  if (volumes === undefined) return false
  let done = true
  for (const volume of volumes) {
    const file = path.join(volume, doneFolder, restoreUid)
    const reason = await stat(file).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    )
    if (reason === undefined) {
      say(`${volume} is restored`)
      continue
    }
    done = false
    say(reason.code === 'ENOENT' ? `${volume} is not restored yet` : `${volume}: ${reason.message}`)
  }
  return done
}

/** The folders of volumes, or undefined when they cannot be listed. Links and files are none. */
async function volumesIn(folder: string, say: (line: string) => void): Promise<string[] | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: Error) => error)
  if (entries instanceof Error) {
    say(`${folder} cannot be listed: ${entries.message}`)
    return undefined
  }
  for (const entry of entries) if (!entry.isDirectory()) say(`${entry.name} is no folder and is left out`)
  return entries.filter(entry => entry.isDirectory()).map(entry => path.join(folder, entry.name))
}

async function tidyUp({ folder, say }: RestoreHelperPorts, sayOnce: (line: string) => void): Promise<void> {
  for (const volume of (await volumesIn(folder, sayOnce)) ?? []) {
    await rm(path.join(volume, doneFolder), { recursive: true, force: true }).catch((error: Error) =>
      say(`${volume} keeps its folder ${doneFolder}: ${error.message}`),
    )
  }
}
