export { migrations } from './migrations/index.ts'
