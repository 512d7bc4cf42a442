/** What `packages/kube` loads of this package, as a file beside the program. */
export { KubeConfig } from '@kubernetes/client-node'
