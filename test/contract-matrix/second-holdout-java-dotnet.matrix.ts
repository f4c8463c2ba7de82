import { declareCells } from './declare.ts';
import { JAVA_DOTNET } from './services/second-holdout-java-dotnet.ts';

declareCells(JAVA_DOTNET);
