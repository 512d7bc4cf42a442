import type { PrinterColumn } from './kind.ts'

/** The columns that the kinds that move volume data have in common, by name. */
export const dataMoveColumns = {
  status: {
    name: 'Status',
    type: 'string',
    jsonPath: '.status.phase',
    description: 'The step it has reached',
  },
  started: {
    name: 'Started',
    type: 'date',
    jsonPath: '.status.startTimestamp',
    description: 'When the data began to move',
  },
  bytesDone: {
    name: 'Bytes Done',
    type: 'integer',
    format: 'int64',
    jsonPath: '.status.progress.bytesDone',
    description: 'Bytes handled so far',
  },
  totalBytes: {
    name: 'Total Bytes',
    type: 'integer',
    format: 'int64',
    jsonPath: '.status.progress.totalBytes',
    description: 'Bytes to handle in all',
  },
  incrementalBytes: {
    name: 'Incremental Bytes',
    type: 'integer',
    format: 'int64',
    priority: 10,
    jsonPath: '.status.incrementalBytes',
    description: 'Bytes that earlier backups did not have',
  },
  storageLocation: {
    name: 'Storage Location',
    type: 'string',
    jsonPath: '.spec.backupStorageLocation',
    description: 'Where the data is kept',
  },
  age: {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    description: 'When it was created',
  },
  node: {
    name: 'Node',
    type: 'string',
    jsonPath: '.status.node',
    description: 'The node that moves the data',
  },
} as const satisfies Record<string, PrinterColumn>
