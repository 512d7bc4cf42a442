// The command line. Read tree/root.ts (what can be typed), run-cli.ts (what happens then), then any file of commands/.
export { cliReference } from './reference.ts'
