import { FieldNames, normalizeName, type Resource } from './field-names.ts';
import {
  parseField,
  parseItems,
  parseNext,
  parseOperation,
  parseParameter,
  parseSize,
  parseSlash,
  parseValues,
} from './leaf-values.ts';
import {
  type AtLeaf,
  DEFAULTS,
  type FieldLeaf,
  isSpecified,
  LEAF_NAMES,
  type LeafName,
  type ListLeaf,
  type OperationLeaf,
  type ParameterLeaf,
  type ValuesLeaf,
} from './leaves.ts';

export type Source = 'spec' | 'assumed' | 'imported' | 'override';

export type LeafValues = Readonly<Record<string, string>>;

/** The values of a service that replace the defaults: default < imported < override. */
export interface ContractLayers {
  readonly override?: LeafValues;
  readonly imported?: LeafValues;
}

export interface Leaf {
  readonly name: LeafName;
  readonly value: string;
  readonly source: Source;
}

/** The wire format of one service: the value of every leaf (spec §4.7). Immutable. */
export class Contract {
  private readonly layers: ContractLayers;
  private readonly resources = new Map<Resource, FieldNames>();
  private readonly names = new Map<ValuesLeaf, ReadonlySet<string>>();

  constructor(layers: ContractLayers = {}) {
    this.layers = layers;
  }

  leaf(name: LeafName): Leaf {
    const { override, imported } = this.layers;
    const chosen = override?.[name] !== undefined ? 'override' : 'imported';
    const source = this.isChosen(name) ? chosen : isSpecified(name) ? 'spec' : 'assumed';
    return { name, value: override?.[name] ?? imported?.[name] ?? DEFAULTS[name], source };
  }

  leaves(): readonly Leaf[] {
    return LEAF_NAMES.map((name) => this.leaf(name));
  }

  readonly operation = (name: OperationLeaf) => parseOperation(this.leaf(name).value);
  readonly parameter = (name: ParameterLeaf) => parseParameter(this.leaf(name).value);
  readonly items = (list: ListLeaf) => parseItems(this.leaf(`${list}.items`).value);
  readonly next = (list: ListLeaf) => parseNext(this.leaf(`${list}.next`).value);
  /** The parameter that asks for large pages, with its value; none by default. */
  readonly size = (list: ListLeaf) => parseSize(this.leaf(`${list}.size`).value);
  readonly field = (name: FieldLeaf | AtLeaf) => parseField(this.leaf(name).value);
  readonly slash = () => parseSlash(this.leaf('paths.trailing_slash').value);

  /** Whether a leaf is set or imported for this service. */
  isChosen(name: LeafName): boolean {
    return this.layers.override?.[name] !== undefined || this.layers.imported?.[name] !== undefined;
  }

  namesOf(resource: Resource): FieldNames {
    const names = this.resources.get(resource) ?? new FieldNames(resource, this);
    this.resources.set(resource, names);
    return names;
  }

  /** The normalized names of one side of a conversation. */
  values(name: ValuesLeaf): ReadonlySet<string> {
    const values = this.names.get(name) ?? new Set(parseValues(this.leaf(name).value).map(normalizeName));
    this.names.set(name, values);
    return values;
  }
}
