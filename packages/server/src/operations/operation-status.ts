/** How an operation stands, as files of operations in the bucket have it. */
export interface OperationStatus {
  phase: 'New' | 'InProgress' | 'Completed' | 'Failed'
  error?: string
  nCompleted?: number
  nTotal?: number
  operationUnits?: string
  description?: string
  created?: string
  started?: string
  updated?: string
}

/** Whether nothing will change any more. */
export function hasEnded({ phase }: OperationStatus): boolean {
  return phase === 'Completed' || phase === 'Failed'
}
