import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { runServer, serverDefaults } from '@lateen/server'

// The server as a process, with options as JSON, until SIGTERM. On SIGUSR2 it logs how much memory is in use once garbage is gone.
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.on('SIGUSR2', () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  // What finalizers let go of is gone with the second.
  collect()
  setImmediate(() => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    process.stderr.write(
      `${JSON.stringify({ level: 'info', msg: 'memory in use', bytes: heapUsed + external })}\n`,
    )
  })
})
await runServer({ ...serverDefaults, ...JSON.parse(process.argv[2] ?? '{}') }, stop.signal)
