import type { FlagSet } from './flag.ts'
import { klogFlags } from './klog-flags.ts'

/** Flags that every command takes, before or after its name. */
export const globalFlags = {
  colorized: {
    type: 'string',
    choices: ['true', 'false'],
    help: 'Coloured output on a terminal, true or false; overrides `colorized` of the client configuration.',
  },
  features: {
    type: 'list',
    help: 'Comma-separated features, in addition to `features` of the client configuration. The server and `backup create --local` use them, and `install` hands them to the pods.',
    choices: ['EnableCSI', 'EnableAPIGroupVersions'],
  },
  kubeconfig: {
    type: 'string',
    help: 'Path of the kubeconfig file. Without it: the files in KUBECONFIG, then the service account of the pod this runs in, then ~/.kube/config.',
  },
  kubecontext: {
    type: 'string',
    help: 'Context of the kubeconfig to use instead of its current context.',
  },
  namespace: {
    type: 'string',
    short: 'n',
    names: 'namespaces',
    help: 'Namespace to work in. Without it: `namespace` of the client configuration, then VELERO_NAMESPACE, then velero.',
  },
  'request-timeout': {
    type: 'duration',
    default: '1m5s',
    help: 'How long to wait for an answer of the API server, which itself gives up after a minute; 0s is for ever.',
  },
  ...klogFlags,
} as const satisfies FlagSet
