import { KubeError } from '@lateen/kube'
import { CsiError } from './csi-error.ts'

/** Whether an error says that the cluster does not let something be done, now or at the next try: by its rights, an admission policy, or its controllers. */
export function isRefusal(error: unknown): boolean {
  return error instanceof CsiError || (error instanceof KubeError && !error.retryable)
}
