import { becomeServer } from './server.ts'

becomeServer()
