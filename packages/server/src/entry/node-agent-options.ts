import type { LogLevel } from './server-options.ts'

/** How a node agent runs. Durations are in milliseconds. */
export interface NodeAgentOptions {
  namespace: string
  /** The node it is on. */
  node: string
  kubeconfig?: string | undefined
  kubecontext?: string | undefined
  logLevel: LogLevel
  logFormat: 'text' | 'json'
  /** Host and port of health and metrics; empty for none. */
  metricsAddress: string
  /** How long what has no limit of its own may take. */
  resourceTimeout: number
  /** How long the pod of a mover may take to run. */
  prepareTimeout: number
  /** The ConfigMap with settings; empty for none. */
  configMap: string
  /** Where the node's folder of pods is. */
  podsFolder: string
  version: string
}

/** Where the installation mounts the node's pods. */
export const hostPods = '/host_pods'
