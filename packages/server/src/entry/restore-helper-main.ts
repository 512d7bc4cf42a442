/** `velero-restore-helper RESTORE-UID`: the init container of a pod whose volumes are being restored. */
import { setTimeout as delay } from 'node:timers/promises'
import { waitForRestoredVolumes } from './restore-helper.ts'

const stop = new AbortController()
// As the first process of a container, this one gets no signal that it does not ask for.
process.once('SIGTERM', () => stop.abort())
process.once('SIGINT', () => stop.abort())

const [restoreUid, ...others] = process.argv.slice(2)
if (restoreUid === undefined || others.length > 0) {
  process.stderr.write('usage: velero-restore-helper RESTORE-UID\n')
  process.exitCode = 1
} else {
  const ports = {
    folder: '/restores',
    stateFolder: '/restore-state',
    say: (line: string) => void process.stdout.write(`${line}\n`),
    sleep: async (ms: number, signal: AbortSignal) => void (await delay(ms, undefined, { signal })),
  }
  waitForRestoredVolumes(restoreUid, ports, stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = stop.signal.aborted ? 143 : 1
  })
}
