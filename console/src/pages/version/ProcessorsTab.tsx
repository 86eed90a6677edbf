import { useVersion } from './use-version.ts'

export default function ProcessorsTab() {
  return <p>{useVersion().reference}</p>
}
