import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { counter, gauge } from './family.ts'
import type { MetricsRegistry } from './registry.ts'

const nanosecondsPerSecond = 1e9
const microsecondsPerSecond = 1e6

/** What Prometheus' clients tell of every process, and Node's memory and event loop. Disposing ends the measuring. */
export function observeProcess(registry: MetricsRegistry): Disposable {
  const show = (name: string, help: string) => registry.gauge(gauge(name, help))
  const cpu = registry.counter(
    counter('process_cpu_seconds_total', 'User and system time that the process used'),
  )
  const resident = show('process_resident_memory_bytes', 'Memory of the process')
  const started = show('process_start_time_seconds', 'When the process began, in seconds since 1970')
  const files = show('process_open_fds', 'Files and sockets that are open')
  const heapUsed = show('nodejs_heap_size_used_bytes', 'Memory in use on the heap')
  const heapTotal = show('nodejs_heap_size_total_bytes', 'Memory of the heap')
  const external = show('nodejs_external_memory_bytes', 'Memory of buffers and other things beside the heap')
  const lags = [50, 99, 100].map(percentile => ({
    percentile,
    lag: show(
      `nodejs_eventloop_lag_${percentile === 100 ? 'max' : `p${percentile}`}_seconds`,
      'How late the event loop was since the last look',
    ),
  }))
  const version = registry.gauge(gauge('nodejs_version_info', 'The version of Node', ['version']))
  version.set({ version: process.version }, 1)
  started.set({}, performance.timeOrigin / 1_000)
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let countedCpu = 0
  registry.beforeRender(() => {
    const { user, system } = process.cpuUsage()
    cpu.add({}, Math.max(0, (user + system) / microsecondsPerSecond - countedCpu))
    countedCpu = (user + system) / microsecondsPerSecond
    const memory = process.memoryUsage()
    resident.set({}, memory.rss)
    heapUsed.set({}, memory.heapUsed)
    heapTotal.set({}, memory.heapTotal)
    external.set({}, memory.external)
    files.set({}, openFiles())
    for (const { percentile, lag } of lags) lag.set({}, delay.percentile(percentile) / nanosecondsPerSecond)
    delay.reset()
  })
  return { [Symbol.dispose]: () => void delay.disable() }
}

/** Where there is no `/proc`, nobody knows. */
function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return Number.NaN
  }
}
