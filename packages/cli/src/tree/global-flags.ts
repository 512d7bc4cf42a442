import type { FlagSet } from './flag.ts'

/** Flags that every command takes, before or after its name. */
export const globalFlags = {
  colorized: {
    type: 'optional-boolean',
    help: 'Coloured output on a terminal; overrides `colorized` of the client configuration.',
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
    help: 'Namespace to work in. Without it: `namespace` of the client configuration, then VELERO_NAMESPACE, then velero.',
  },
} as const satisfies FlagSet
