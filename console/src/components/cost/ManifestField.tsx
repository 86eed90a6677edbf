import { FileUp } from 'lucide-react'
import { useRef, useState, type DragEvent } from 'react'
import { Button } from '../../ui/Button.tsx'
import { TextArea } from '../../ui/TextField.tsx'

const maxBytes = 200_000

type Props = { manifest: string; onChange: (manifest: string) => void }

/** A field for a manifest, which the user pastes, drops or chooses as a file. The file is read in the browser. */
export function ManifestField({ manifest, onChange }: Props) {
  const [problem, setProblem] = useState<string>()
  const input = useRef<HTMLInputElement>(null)
  const readFile = async (file: File | undefined) => {
    if (!file) return
    const isTooLarge = file.size > maxBytes
    setProblem(isTooLarge ? `${file.name} is larger than ${maxBytes / 1000} kB. Choose a smaller file.` : undefined)
    if (!isTooLarge) onChange(await file.text())
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    void readFile(event.dataTransfer.files[0])
  }
  return (
    <div onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <TextArea
        label="squid.yaml"
        labelAction={
          <Button size={28} icon={<FileUp size={14} aria-hidden />} onClick={() => input.current?.click()}>
            Choose file
          </Button>
        }
        description="Paste the manifest or drop the file here."
        isMono
        rows={6}
        spellCheck={false}
        autoComplete="off"
        value={manifest}
        onChange={({ target }) => onChange(target.value)}
        {...(problem && { error: problem })}
      />
      <input
        ref={input}
        type="file"
        accept=".yaml,.yml,.json"
        aria-label="Choose squid.yaml"
        className="sr-only"
        tabIndex={-1}
        onChange={({ target }) => void readFile(target.files?.[0])}
      />
    </div>
  )
}
