import { Session } from 'node:inspector/promises'
import type { Clock } from '@lateen/kube'

/**
 * Looks on for some time at what the process computes, and returns it as the JSON of a `.cpuprofile` file. Throws the signal's reason
 * when it aborts before; nothing is left running then.
 */
export async function profileCpu(ms: number, clock: Clock, signal: AbortSignal): Promise<string> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.start')
    await clock.sleep(ms, signal)
    signal.throwIfAborted()
    const { profile } = await session.post('Profiler.stop')
    return JSON.stringify(profile)
  } finally {
    session.disconnect()
  }
}
