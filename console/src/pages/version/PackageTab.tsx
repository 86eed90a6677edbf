import { useVersion } from './use-version.ts'

export default function PackageTab() {
  return <p>{useVersion().reference}</p>
}
