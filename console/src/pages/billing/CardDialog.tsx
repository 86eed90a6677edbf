import { LazyDialog } from '../../components/LazyDialog.tsx'
import { CardForm } from './CardForm.tsx'

type Props = { title: string; code: string; onClose: () => void }

export function CardDialog({ title, code, onClose }: Props) {
  return (
    <LazyDialog title={title} isOpen onClose={onClose}>
      <CardForm code={code} onSaved={onClose} />
    </LazyDialog>
  )
}
