import { runServer, serverDefaults } from '@lateen/server'

// The server as a process, with options as JSON, until SIGTERM.
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
await runServer({ ...serverDefaults, ...JSON.parse(process.argv[2] ?? '{}') }, stop.signal)
