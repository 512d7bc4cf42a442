// The host's side of the plugin protocol.
export {
  type ConnectOptions,
  connectPlugin,
  type ListedPlugin,
  type PluginConnection,
} from './client/connect-plugin.ts'
