export { readBody } from '@lateen/plugin'
