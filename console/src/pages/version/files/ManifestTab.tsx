import { useVersion } from '../use-version.ts'
import { CodeView } from './CodeView.tsx'

/** Spec 2.9: the raw manifest, or the parsed one. */
export default function ManifestTab() {
  const { raw, current } = useVersion().manifest
  if (raw !== '') return <CodeView name="squid.yaml" code={raw.trimEnd()} language="yaml" />
  return <CodeView name="squid.json" code={JSON.stringify(current, null, 2)} language="json" />
}
