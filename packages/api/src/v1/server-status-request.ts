import { type CustomObject, describeKind, type KindDescription } from '../kind.ts'
import { requestPhases, serverStatusRequestPhaseMachine } from '../phases.ts'
import { array, enumeration, nullable, object, required, string, time } from '../schema/build.ts'
import type { Infer } from '../schema/schema.ts'

const serverStatusRequestSpec = object('Nothing to say.', {})

/** Has no fields. */
export interface ServerStatusRequestSpec extends Infer<typeof serverStatusRequestSpec> {}

const pluginInfo = object('A plugin.', {
  name: required(string('Name of the plugin.')),
  kind: required(string('What the plugin does.')),
})

/** A plugin that the server has. */
export interface PluginInfo extends Infer<typeof pluginInfo> {}

const serverStatusRequestStatus = object('What the server says about itself.', {
  phase: enumeration('Whether the request was answered.', requestPhases),
  processedTimestamp: time('When the request was answered.'),
  serverVersion: string('Version of the server.'),
  plugins: nullable(array('The plugins the server has.', pluginInfo)),
})

/** What the server says about itself. */
export interface ServerStatusRequestStatus extends Infer<typeof serverStatusRequestStatus> {}

/** A question to the server about its version and plugins. */
export interface ServerStatusRequest
  extends CustomObject<ServerStatusRequestSpec, ServerStatusRequestStatus> {}

/** The kind ServerStatusRequest. */
export const ServerStatusRequestKind: KindDescription<ServerStatusRequest> = describeKind({
  kind: 'ServerStatusRequest',
  plural: 'serverstatusrequests',
  shortNames: ['ssr'],
  description: 'A question to the server about its version and plugins.',
  schema: { spec: serverStatusRequestSpec, status: serverStatusRequestStatus },
  phases: serverStatusRequestPhaseMachine,
})
