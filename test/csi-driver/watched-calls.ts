import { setTimeout as sleep } from 'node:timers/promises'
import { CsiError } from './csi-error.ts'
import type { CallFault, FaultControl } from './faults.ts'
import type { Around } from './rpc-service.ts'

/** Fields of requests that say what a call is about. Nothing else of a request is logged: it may hold secrets. */
const telling = ['name', 'volumeId', 'sourceVolumeId', 'snapshotId', 'groupSnapshotId', 'targetPath'] as const

/** Logs every call when it ends, and lets the faults that are set strike it. */
export function watchedCalls(faults: FaultControl, log: (line: object) => void): Around {
  return async (method, request, work) => {
    const about = Object.fromEntries(
      telling.flatMap(field =>
        field in request ? [[field, (request as Record<string, unknown>)[field]]] : [],
      ),
    )
    const started = performance.now()
    const ended = (outcome: object) =>
      log({ method, ...about, ms: Math.round(performance.now() - started), ...outcome })
    try {
      const answer = await struck(await faults.strike(method), work)
      ended({ code: 'OK' })
      return answer
    } catch (error) {
      const { message } = error as Error
      ended({ code: error instanceof CsiError ? error.code : 'INTERNAL', message })
      throw error
    }
  }
}

async function struck(faults: readonly CallFault[], work: () => Promise<object>): Promise<object> {
  for (const { delayMs } of faults) if (delayMs) await sleep(delayMs)
  throwFirst(faults, false)
  const answer = await work()
  throwFirst(faults, true)
  return answer
}

function throwFirst(faults: readonly CallFault[], afterwards: boolean): void {
  const errors = faults.flatMap(({ error }) => (error ? [error] : []))
  const error = errors.find(each => (each.afterwards ?? false) === afterwards)
  if (error) throw new CsiError(error.code, error.message)
}
