// What a plugin program imports.

export type { LogFields, LogLevel, PluginLog } from './serve/plugin-log.ts'
export { createPluginLog } from './serve/plugin-log.ts'
export { type PluginServer, type PluginServerOptions, startPluginServer } from './serve/plugin-server.ts'
export {
  checkPlugins,
  listPlugins,
  type PluginContext,
  type PluginFactories,
  type PluginFactory,
  type PluginListing,
} from './serve/registered-plugins.ts'
export { servePlugin } from './serve/serve-plugin.ts'
