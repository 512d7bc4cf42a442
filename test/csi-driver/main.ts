/**
 * The test CSI driver as a program:
 *
 *     node test/csi-driver/main.ts --name NAME --node-id ID --state FOLDER --socket SOCKET [--registration-socket SOCKET]
 *
 * It says `{"serving": …}` when it can be called, and one line of JSON for every call.
 */
import { parseArgs } from 'node:util'
import { serveDriver } from './serve-driver.ts'

const { values } = parseArgs({
  options: {
    name: { type: 'string' },
    'node-id': { type: 'string' },
    state: { type: 'string' },
    socket: { type: 'string' },
    'registration-socket': { type: 'string' },
  },
})
const {
  name,
  'node-id': nodeId,
  state: stateFolder,
  socket,
  'registration-socket': registrationSocket,
} = values
if (name === undefined || nodeId === undefined || stateFolder === undefined || socket === undefined) {
  throw new Error('--name, --node-id, --state and --socket are needed')
}
const log = (line: object) => void process.stdout.write(`${JSON.stringify(line)}\n`)
const options = {
  name,
  nodeId,
  stateFolder,
  socket,
  ...(registrationSocket !== undefined && { registrationSocket }),
}
const driver = await serveDriver({ ...options, log })
log({ serving: socket })
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void driver[Symbol.asyncDispose]().then(() => process.exit(0)))
}
