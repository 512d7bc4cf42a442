/** One long test: which files run, and how many seeds they get. */
export interface SoakPlan {
  name: string
  /** What it shows when it passes, for the report. */
  shows: string
  /** Parts of the paths of the test files, as `tools/test/run.ts --only` takes them. */
  files: string[]
  seeds: number
  /** Variables beyond the seeds that the files read. */
  env?: Record<string, string>
  timeoutMinutes: number
}

/** Every soak there is. A test file that uses `rotatingSeeds` belongs to one of them. */
export const soakPlans: SoakPlan[] = [
  {
    name: 'runner',
    shows: 'seeds reach the test files and their results reach the report',
    files: ['tools/test/seeds.test.ts'],
    seeds: 10,
    timeoutMinutes: 10,
  },
]
